"""Tables from what the stages measured; nothing here imports PyTorch.

Read in this order. `stage`: what is written, from what; `measured` reads it. `formats` and `latex`: one frame
as CSV, Markdown and LaTeX; `rows`: what rows of several tables share. Then a module for each table: `tables`
(Table 2 and cells.csv), `table1`, `table3` to `table6`, `strength` (ladder and records), `coverage`,
`recovery`, `curves`. `listings` are frames too long to read through.
"""

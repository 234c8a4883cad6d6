"""Reports held against themselves and against one another, from the committed files alone.

`tables` reads a report's CSV as it was written. `arithmetic` recomputes what follows from a row's own counts;
`rendering` writes tables, claims and findings anew from the CSV; `verify` is both (`searchless verify`).
`compare` sets two report folders side by side, number by number (`searchless compare`).
"""

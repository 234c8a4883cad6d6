"""The figures, from what the stages measured; nothing here imports PyTorch.

Read in this order. `style`: colours, markers, sizes in print. `coverage_plot` and `board`: what several
figures share. Then a module for each figure: `figure5` to `figure10`, `dissociation`, `strength_figure`.
`stage`: what is drawn from what.
"""

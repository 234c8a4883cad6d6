"""Supervised learning from puzzles: the control that self-play is compared with (paper section 3.6).

In reading order:

* `control`: the examples, their order, the loss
* `control_stage`: the stage `control`, resumable to the bit
"""

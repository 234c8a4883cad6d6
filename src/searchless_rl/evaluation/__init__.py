"""Measuring networks: what a searchless player solves, keeps alive and covers (paper sections 3.1 to 3.5).

Read in this order. `policy`: logits to probabilities, ranks and the move played. `temperature`: the tempered
policy μ. `tactics`: accuracy and solution probability on puzzle suites. `recovery`: what fine-tuning wins and
gives back, position by position. `candidates` and `oracle`: single positions for Figure 9. `tabiyas` and
`coverage`: how much of its own play a policy shows in K sampled trajectories. `stage` and `coverage_stage`
write the files; `names` is for readers that must not load a network.
"""

"""The method: self-play fine-tuning with an exploration term and an adaptive temperature (paper section 2).

In reading order:

* `module`: one step of the algorithm, from positions to updated weights
* `distributions`: policies over legal moves, entropy, KL, the temperature τ, the behavior policy μ
* `terms`: the four exploration terms R(θ)
* `objective`: importance weight ρ, value target, advantage A, the losses
* `optimizer`: AdamW's groups, warm-up, EMA, the schedule of β
* `networks`: online, EMA and base network as Lightning handles them
* `warm_start`: games played by the base, before training and in randomized roots
* `promotions`: the released code's reading of promotions
* `diagnostics`, `game_statistics`: what is recorded
* `guards`: signs of a broken run
* `memory`: micro-batches, smaller when memory runs out
* `checkpoint`, `callbacks`: files of a run that may be interrupted at any instant
* `stage`: the stages `warm_start` and `train`
"""

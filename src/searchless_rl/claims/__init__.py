"""The paper's word against this run's: where they differ, and what the run found.

Read in this order. `deviation_rows`, `deviations`: where the paper, its released code and this run differ.
`finding_rules`, `findings`: the paper's headline claims, measured and judged. `stage`: both, written after
the tables.
"""

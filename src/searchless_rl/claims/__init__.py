"""The paper's word against this run's: where they differ, and what the run found.

Read in this order. `deviation_rows`, `deviations`: where the paper, its released code and this run differ.
`published`: every result it prints beside ours. `finding_rules`, `findings`: its headline claims, measured
and judged. `stage`: all three, written after the tables.

Then every statement, in the stage of `judged_stage`: `estimates`, `expressions` (what is measured),
`rule_forms` (verdicts), `frames` (this run's files, the paper's numbers), `statement_rules`,
`mechanism_rules` and `table_rules` (data), `judged`, `judged_document`.
"""

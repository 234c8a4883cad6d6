"""What the stages measured, read once for everybody: tables, figures, selection and MLflow.

Read in this order. `names`: how models, suites, policies and files are called. `document`: a JSON file whose
parts are checked as they are read. `models`: every network with its figures, and where the stages put them;
`scores`: the same puzzle by puzzle, `curves`: its training step by step. `selection`: the stage `select`, the
only decision taken from results. `glossary`: what every figure means.
"""

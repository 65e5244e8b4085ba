"""What was kept, as rows to look through: `filters` (which of them), `sources` (outputs and logs as rows),
`reports` (the attempts log summed up)."""

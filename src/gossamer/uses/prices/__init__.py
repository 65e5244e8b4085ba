"""Price monitoring: targets, daily runs, history, rules, matching and reports (`gossamer prices`)."""

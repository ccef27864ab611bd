"""Real agents through whole tasks, against a provider that refuses what a provider refuses. See `scripts/agents --help`."""

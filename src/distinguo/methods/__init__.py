"""The methods: one paper, one module, each reading like its algorithm box."""

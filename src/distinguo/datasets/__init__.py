"""Benchmark files on disk: questions with their gold, corpora, judgements."""

"""What is asked of models: one typed function per prompt, beside the schema and the reader of its reply.

Passages, documents and questions are data. They are delimited, never formatted as templates, and cannot close
their own delimiter.
"""

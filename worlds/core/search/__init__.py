"""From a question to hits: options, filters, words, the one statement, ranking and what follows it."""

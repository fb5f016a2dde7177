"""New tasks: operators are crawled, composed into layers, filtered, held against benchmarks, and stored."""

"""What is known of each language whose tests are judged: one package for each."""

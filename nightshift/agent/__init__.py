"""The loop that thinks: plan, code, test, reflect. It sees nothing but `core` and the tools it is handed."""

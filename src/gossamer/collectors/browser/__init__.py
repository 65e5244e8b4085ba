"""The browser rung: Chromium and Firefox, their tabs, and the page as it is after its scripts ran."""

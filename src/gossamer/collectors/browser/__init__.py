"""The browser rung: Chromium and Firefox, their tabs, the page as it stands after its scripts ran."""

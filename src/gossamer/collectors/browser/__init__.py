"""The browser rung. Controls Chromium and Firefox and their tabs, and reads pages after their scripts have
run."""

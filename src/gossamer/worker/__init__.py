"""The path of a URL after the frontier: the visitor fetches and reads a page, the committer writes and
settles, the loop runs hundreds of visits at once. `app.wiring` passes in the parts; nothing in this
package names a concrete one."""

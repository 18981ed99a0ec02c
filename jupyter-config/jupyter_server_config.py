"""The Jupyter configuration of `make lab`, `make demo` and the browser tests: quiet, local, asking no other host for anything.

It is found through `JUPYTER_CONFIG_PATH=<this folder>`, which is only read; what JupyterLab writes goes to `JUPYTER_CONFIG_DIR`, so
point that somewhere else. Beside this file, `labconfig/default_setting_overrides.json` sets the front end's own defaults, which no
server option reaches (its JSON cannot hold comments): no news and no look for updates, each of which would be a request to a website,
and a theme that follows the browser's light or dark. JupyterLab 4.6 reads that file from every `labconfig` folder on the
configuration path, and Notebook 7 does not read it.
"""

c = get_config()  # noqa: F821 - Jupyter puts it into this file's names

c.ServerApp.ip = "127.0.0.1"
c.ServerApp.allow_root = True  # a container has no other user; the server listens on this machine alone

# None takes the news and their question out of the page; the default is a web address.
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.handlers.announcements.NeverCheckForUpdate"
# The other one lists packages from an index on the web.
c.LabApp.extension_manager = "readonly"

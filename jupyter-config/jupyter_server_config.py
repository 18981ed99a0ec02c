"""The Jupyter configuration of `make lab` and the browser tests: quiet, local, asking no other host for anything.

It is found through `JUPYTER_CONFIG_PATH=<this folder>`, which is just read. What server options do not reach is in `labconfig/`,
in JSON that cannot hold comments. JupyterLab 4.6 reads both files there from every folder of the configuration path, Notebook 7
reads only the second:

* `default_setting_overrides.json`: no news and no look for updates, each of which would be a request to a website, and a theme that
  follows the browser's light or dark.
* `page_config.json`: no check whether the front end should be built anew, which takes seconds and has nothing to build; and no
  button of voila's, which is installed for the tests.
"""

c = get_config()  # noqa: F821 - Jupyter gives this file the name

c.ServerApp.ip = "127.0.0.1"
c.ServerApp.allow_root = True  # a container has no other user; the server listens on this machine alone

# None takes the news and their question out of the page; the default is a web address.
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.handlers.announcements.NeverCheckForUpdate"
# The other one lists packages from an index on the web.
c.LabApp.extension_manager = "readonly"

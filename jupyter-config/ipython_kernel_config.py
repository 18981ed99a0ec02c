"""Loads agentcell's magics in every kernel, so that no notebook needs `%load_ext agentcell`. It is here to be copied by who wants that.

For oneself: into the folder that `ipython locate profile default` names. For everybody who uses one environment: into `etc/ipython`
below that environment's own folder (`sys.prefix`). Where such a file is already, add its last line there.
"""

c = get_config()  # noqa: F821 - IPython gives this file the name

c.InteractiveShellApp.extensions.append("agentcell")

"""`assay completion`: the script by which a shell completes commands, options, models, columns and files."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from assay.cli.options import speaking
from assay.cli.shell import Shell

BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value path
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete $1)
    for completion in $response; do
        type=${completion%%%%,*} value=${completion#*,}
        if [[ $type == file ]]; then
            compopt -o filenames
            while read -r path; do COMPREPLY+=("$path"); done < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        else
            value=$(printf '%%q' "$value")
            COMPREPLY+=("${value//\\\\,/,}")
        fi
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class BashScript(BashComplete):
    """Click's own offers either names or files, and breaks names at spaces: a bundled dataset beside files, a column called "size mm"."""

    source_template = BASH

    @staticmethod
    def _check_version() -> None:
        """The script may be made for another machine than this one."""


SCRIPTS: dict[str, type[ShellComplete]] = {"bash": BashScript, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("program", metavar="SHELL", type=click.Choice(list(SCRIPTS)))
@speaking("completion")
def command(program: str, shell: Shell) -> None:
    """Print the script that lets SHELL (bash, zsh or fish) complete commands, options, models, columns and files.

    \b
    bash   eval "$(assay completion bash)"     in ~/.bashrc (bash 4.4 or newer)
    zsh    eval "$(assay completion zsh)"      in ~/.zshrc, after compinit
    fish   assay completion fish > ~/.config/fish/completions/assay.fish

    Then `assay compare sales.csv --target <Tab>` lists the columns of sales.csv, `--models svc,<Tab>` the models.
    """
    from assay.cli.app import assay

    script = SCRIPTS[program](assay, {}, "assay", "_ASSAY_COMPLETE").source()
    shell.result({"shell": program, "script": script}, script)

"""Networks with the posterior means of their tables, as BIF, networkx and pgmpy."""

import itertools
import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax._documents import write_atomically
from dpjax.data.bayes_net import BayesNet
from dpjax.exports.axes import by_name, net_of
from dpjax.exports.packages import optional
from dpjax.posteriors.base import Posterior

if TYPE_CHECKING:
    import networkx

_PLAIN = re.compile(r'(?!.*/[/*])[^\s{}()|,;"]+')


def to_bif(posterior: Posterior, path: str | os.PathLike | None = None) -> str:
    """Return a network with the posterior means of its tables, in the form of BIF.

    Args:
        posterior: the posterior of a network of categorical variables.
        path: file to write, or None.

    Returns:
        The text of a Bayesian interchange format file. `BayesNet.from_bif` reads the
        same network back. A name or level with a space or a character of BIF's own is
        in quotation marks, which pgmpy reads and which some other programs do not.

    Raises:
        ValueError: if the posterior is not of such a network, a name or level has a
            quotation mark or a line break, or the file cannot be written.

    Privacy:
        Post-processing of a release has no privacy cost.
    """
    net, tables = _parts(posterior)
    labels = [[_word(x) for x in v.levels] for v in net.variables]
    names = [_word(name) for name in net.names]
    lines = ["network dpjax {", "}"]
    for name, levels in zip(names, labels, strict=True):
        kind = f"type discrete [ {len(levels)} ] {{ {', '.join(levels)} }};"
        lines += [f"variable {name} {{", f"  {kind}", "}"]
    for *parents, own in net.families:
        given = ", ".join(names[i] for i in parents)
        lines.append(f"probability ( {names[own]}{given and ' | '}{given} ) {{")
        groups = itertools.product(*(labels[i] for i in parents))
        for levels, row in zip(groups, tables[net.names[own]], strict=True):
            start = f"({', '.join(levels)})" if parents else "table"
            lines.append(f"  {start} {', '.join(map(repr, row.tolist()))};")
        lines.append("}")
    text = "\n".join([*lines, ""])
    if path is not None:
        write_atomically(path, text)
    return text


def to_networkx(model: Posterior | BayesNet) -> "networkx.DiGraph":
    """Return the graph of a network, from parents to children.

    Args:
        model: a network of categorical variables, or a posterior of its tables.

    Returns:
        A graph whose nodes are the variables' names, with the attribute `levels`. With
        a posterior they also have `mean`, the posterior mean of the table of the
        variable: an array with an axis for each parent, and then the variable's.

    Raises:
        ImportError: if networkx is not installed.
        ValueError: if the model is not such a network.

    Privacy:
        Post-processing of a release has no privacy cost.
    """
    net, tables = (model, {}) if isinstance(model, BayesNet) else _parts(model)
    graph = optional("networkx", "dpjax[networks]").DiGraph()
    for variable in net.variables:
        graph.add_node(variable.name, levels=variable.levels)
    for *parents, own in net.families:
        sizes = [net.sizes[i] for i in (*parents, own)]
        graph.add_edges_from((net.names[i], net.names[own]) for i in parents)
        if tables:
            mean = tables[net.names[own]].reshape(sizes)
            graph.nodes[net.names[own]]["mean"] = mean
    return graph


def to_pgmpy(posterior: Posterior) -> Any:
    """Return a network with the posterior means of its tables, as a model of pgmpy.

    Args:
        posterior: the posterior of a network of categorical variables.

    Returns:
        A `pgmpy.models.DiscreteBayesianNetwork`, whose states are the levels.

    Raises:
        ImportError: if pgmpy is not installed.
        ValueError: if the posterior is not of such a network.

    Privacy:
        Post-processing of a release has no privacy cost.
    """
    net, tables = _parts(posterior)
    model = optional("pgmpy.models", "pgmpy").DiscreteBayesianNetwork()
    table_of = optional("pgmpy.factors.discrete", "pgmpy").TabularCPD
    model.add_nodes_from(net.names)
    for *parents, own in net.families:
        name, evidence = net.names[own], [net.names[i] for i in parents]
        family = [net.variables[i] for i in (*parents, own)]
        model.add_edges_from((parent, name) for parent in evidence)
        model.add_cpds(
            table_of(
                name,
                net.sizes[own],
                tables[name].T,
                evidence=evidence,
                evidence_card=[net.sizes[i] for i in parents],
                state_names={x.name: [*x.levels] for x in family},
            )
        )
    return model


def _parts(posterior: Posterior) -> tuple[BayesNet, dict[str, np.ndarray]]:
    """Return the network and its mean tables, whose rows have the sum 1."""
    net = net_of(posterior)
    if net is None:
        raise ValueError(
            "`posterior` must be of a network of categorical variables: use "
            "`to_dataframe` or `to_xarray` for others."
        )
    rows = {
        name: table.astype(float).reshape(-1, table.shape[-1])
        for name, table in by_name(posterior.mean()).items()
    }
    return net, {name: x / x.sum(axis=1)[:, None] for name, x in rows.items()}


def _word(label: object) -> str:
    """Return a name or a level as BIF, in quotation marks if that needs them."""
    text = str(label)
    if _PLAIN.fullmatch(text):
        return text
    if '"' in text or len(text.splitlines()) != 1:
        raise ValueError(
            "`posterior` must have names and levels without quotation marks and line "
            f"breaks to be written as BIF, got {text!r:.80}."
        )
    return f'"{text}"'

"""The catalogue: every model, what it assumes, in which units, and how far it is to be trusted."""

from ethermeter import theory
from ethermeter.arguments import ArgumentError
from ethermeter.faults import ARGUMENTS, choices
from ethermeter.theory.entry import Aspect, Assumption, Model, Output, Symbol, entry_of

__all__ = ["Aspect", "Assumption", "Model", "Output", "Symbol", "model", "models"]

_FUNCTIONS = (
    theory.kleinrock_tobagi_1975,
    theory.metcalfe_boggs_1976,
    theory.almes_lazowska_1979,
    theory.tobagi_hunt_1980_non_persistent,
    theory.tobagi_hunt_1980_one_persistent,
    theory.tobagi_hunt_1980_p_persistent,
    theory.tobagi_hunt_1980_bimodal,
    theory.tobagi_hunt_1980_finite,
    theory.lam_1980,
    theory.bux_1981_csma_cd,
    theory.bux_1981_token_ring,
    theory.bux_1981_slotted_ring,
    theory.coyle_liu_1983,
    theory.takagi_kleinrock_1985,
    theory.takagi_kleinrock_1985_double_peak,
    theory.takagi_kleinrock_1985_finite,
    theory.tasaka_1986,
    theory.plca_2019,
    theory.boxma_meister_1987,
    theory.boxma_groenendijk_1988,
    theory.pollaczek_khinchine_1932,
    theory.cobham_1954,
    theory.kingman_1962,
    theory.kleinrock_1975_m_m_1_k,
    theory.marchal_1976,
    theory.gross_2008_m_d_1_k,
    theory.cruz_1991,
    theory.le_boudec_thiran_2001,
    theory.boyer_2012,
    theory.de_azua_boyer_2014,
    theory.bouillard_2022,
    theory.jacobson_1992_window,
    theory.mathis_1997,
    theory.padhye_1998,
)


def models() -> dict[str, Model]:
    """Return the models by name: of shared media, queues, worst cases, transfers; each by years."""
    return {entry.name: entry for entry in (entry_of(function) for function in _FUNCTIONS)}


def model(name: str) -> Model:
    """Return the model of that name.

    Raises
    ------
    ArgumentError
        If there is none.

    """
    known = models()
    if name not in known:
        raise ArgumentError(ARGUMENTS, "name", name, choices(name, known))
    return known[name]

"""The functions of theory that are offered to everyone."""

from ethermeter.arguments import ArgumentError
from ethermeter.theory.almes_lazowska import almes_lazowska_1979
from ethermeter.theory.bux import bux_1981_csma_cd, bux_1981_slotted_ring, bux_1981_token_ring
from ethermeter.theory.cobham import cobham_1954
from ethermeter.theory.coyle_liu import coyle_liu_1983
from ethermeter.theory.finite_queue import gross_2008_m_d_1_k, kleinrock_1975_m_m_1_k
from ethermeter.theory.general_arrivals import kingman_1962, marchal_1976
from ethermeter.theory.kleinrock_tobagi import kleinrock_tobagi_1975
from ethermeter.theory.lam import lam_1980
from ethermeter.theory.metcalfe_boggs import metcalfe_boggs_1976
from ethermeter.theory.plca import plca_2019
from ethermeter.theory.pollaczek_khinchine import pollaczek_khinchine_1932
from ethermeter.theory.polling import boxma_meister_1987
from ethermeter.theory.search import capacity, load_of
from ethermeter.theory.takagi_kleinrock import (
    takagi_kleinrock_1985,
    takagi_kleinrock_1985_double_peak,
    takagi_kleinrock_1985_finite,
)
from ethermeter.theory.tasaka import tasaka_1986
from ethermeter.theory.tcp_rates import jacobson_1992_window, mathis_1997, padhye_1998
from ethermeter.theory.tobagi_hunt import (
    tobagi_hunt_1980_bimodal,
    tobagi_hunt_1980_non_persistent,
    tobagi_hunt_1980_one_persistent,
    tobagi_hunt_1980_p_persistent,
)
from ethermeter.theory.tobagi_hunt_finite import tobagi_hunt_1980_finite
from ethermeter.theory.two_queues import boxma_groenendijk_1988
from ethermeter.theory.worst_cases import (
    bouillard_2022,
    boyer_2012,
    cruz_1991,
    de_azua_boyer_2014,
    le_boudec_thiran_2001,
)

__all__ = [
    "ArgumentError",
    "almes_lazowska_1979",
    "bouillard_2022",
    "boxma_groenendijk_1988",
    "boxma_meister_1987",
    "boyer_2012",
    "bux_1981_csma_cd",
    "bux_1981_slotted_ring",
    "bux_1981_token_ring",
    "capacity",
    "cobham_1954",
    "coyle_liu_1983",
    "cruz_1991",
    "de_azua_boyer_2014",
    "gross_2008_m_d_1_k",
    "jacobson_1992_window",
    "kingman_1962",
    "kleinrock_1975_m_m_1_k",
    "kleinrock_tobagi_1975",
    "lam_1980",
    "le_boudec_thiran_2001",
    "load_of",
    "marchal_1976",
    "mathis_1997",
    "metcalfe_boggs_1976",
    "padhye_1998",
    "plca_2019",
    "pollaczek_khinchine_1932",
    "takagi_kleinrock_1985",
    "takagi_kleinrock_1985_double_peak",
    "takagi_kleinrock_1985_finite",
    "tasaka_1986",
    "tobagi_hunt_1980_bimodal",
    "tobagi_hunt_1980_finite",
    "tobagi_hunt_1980_non_persistent",
    "tobagi_hunt_1980_one_persistent",
    "tobagi_hunt_1980_p_persistent",
]

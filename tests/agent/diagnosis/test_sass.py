"""Opcodes of a listing, counted."""

from warpsmith.agent.diagnosis import sass
from warpsmith.agent.diagnosis.figures import Name, Sheet, Source
from warpsmith.agent.diagnosis.reading import of_listings

LISTING = """
Fatbin elf code:
================
arch = sm_90a

	code for sm_90a
		Function : _Z11gelu_kernelPKfPfx
	.headerflags	@"EF_CUDA_TEXMODE_UNIFIED"
        /*0000*/                   LDC R1, c[0x0][0x28] ;        /* 0x00000a00ff017b82 */
                                                                 /* 0x000fe20000000800 */
        /*0010*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;   /* 0x0000000402047981 */
        /*0020*/                   DMUL R4, R4, R6 ;             /* 0x0 */
        /*0030*/              @P1  DFMA R4, R4, R6, R8 ;         /* 0x0 */
        /*0040*/                   FADD R4, R4, R6 ;             /* 0x0 */
        /*0050*/                   FFMA.FTZ R4, R4, R6, R7 ;     /* 0x0 */
        /*0060*/                   STL [R1], R4 ;                /* 0x0 */
        /*0070*/                   EXIT ;                        /* 0x0 */
		Function : _Z5emptyv
        /*0000*/                   EXIT ;                        /* 0x0 */
"""


def test_opcodes_are_counted_without_their_modifiers():
    gelu, empty = sass.read(LISTING)
    assert gelu.num_instructions == 8
    assert gelu.count(("LDG",)) == 1
    assert (gelu.count(sass.FP64), gelu.count(sass.FP32), gelu.count(sass.LOCAL)) == (2, 2, 1)
    assert empty.opcodes == (("EXIT", 1),)


def test_a_listing_of_no_device_code_is_empty():
    assert sass.read("cuobjdump info    : File 'x.so' does not contain device code\n") == ()


def test_shares_are_of_the_dominant_kernel_where_it_is_known():
    listings = sass.read(LISTING)
    sheet = Sheet(of_listings(listings, "gelu_kernel"))
    assert (sheet[Name.FP64], sheet[Name.LOCAL]) == (50.0, 12.5)
    assert sheet.get(Name.FP64).source is Source.COUNTED
    assert Sheet(of_listings(listings, "empty"))[Name.FP64] == 0.0
    assert Sheet(of_listings(listings, None))[Name.LOCAL] == 100 / 9
    assert list(Sheet(of_listings((), None))) == []

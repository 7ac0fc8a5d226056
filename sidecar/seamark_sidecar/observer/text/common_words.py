"""Words that agents use about any project, and that therefore say little about one."""

from __future__ import annotations

# Four letters and more; shorter ones are not looked at.
COMMON = frozenset(
    """
    about above access across actual actually added adding adds after again against already also
    always another anything anyway appears applied apply approach argument arguments around asks
    assume available avoid back base based bash because becomes been before behavior being below
    better between block blocks both break broken build call called calling calls cannot careful
    carefully case cases catch cause change changed changes changing check checked checking
    checks class clean cleaner clear code codebase comes command commands comment complete
    complex comprehensive confident config configuration confirm confirmed confirms consider
    consistent contain containing contains content context continue core correct correctly could
    covers create created creates creating creation current currently data default defined
    definitely definition delete described description detail details didn different differently
    directly directory documentation does doesn doing done double down during each earlier edge
    edit either else empty ends enough ensure environment error errors even every everything
    exact exactly examine example except exist existing exists expect expected expects explains
    explicit explicitly explore fail failed failing fails failure fallback falls false field
    file files final find fine first fixed fixes flag flow follow format found from full
    function functions generated gets given gives goes good great handle handled handles
    handling happening happens have haven help helper here however implement implementation
    implemented implies import imported imports include includes including indeed indentation
    index info inherits input insert inside installed instead instructions interrupted into
    issue issues iterates itself just keep know last later least left level like likely line
    lines list listing local locate location logic longer look looking looks loop made main make
    makes making manual many match matches matching maybe means mentioned mentions message
    messages method methods might minimal missed missing mistake mode modified modify modifying
    module more most move multiple must name named names need needed needs never next none note
    nothing number numbers object okay once ones only open option options order original other
    otherwise output over parameter parse parsing part pass passed passes passing path paths
    pattern patterns picture place places plan point points possible present previous print
    probably problem proceed process project properly provide provided question range rather
    read reading ready real reference regular related relevant rely remove removed replace
    replaced repo reported reproduced request requires response rest result results return
    returned returning returns revert review right root running runs safe said same says scope
    script search second section seem seems self sense separate sets setup should shouldn show
    showed shows signature similar simple since single skip skipped skips small solution some
    something somewhere source specific specifically standard start starts state status step
    still store string strings structure submit submitting suggests suite summarize summary
    support supposed sure system take takes task temporary test tested testing tests text than
    that their them then there these they thing things think this those though thought three
    through time tool tries true type types understand understanding unless unrelated update
    updated updating usage used user users uses using usually valid value values variable
    verified verify version very wait want wants warning well were what when where whether which
    while will with without work working works would write written wrong your
    """.split()
)

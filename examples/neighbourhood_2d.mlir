// Neighbourhood attention on an image (NATTEN): positions are the pixels of an
// image of any height, 256 wide, row by row; a query sees the 13 x 13 pixels
// around it. At the left and right border the square is moved inwards, so that
// every query sees 13 columns.
func.func @neighbourhood_2d(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %width = arith.constant 256 : index
      %radius = arith.constant 6 : index
      %last = arith.constant 249 : index
      %queryRow = arith.divui %i, %width : index
      %queryColumn = arith.remui %i, %width : index
      %keyRow = arith.divui %j, %width : index
      %keyColumn = arith.remui %j, %width : index
      %atLeast = arith.maxsi %queryColumn, %radius : index
      %center = arith.minsi %atLeast, %last : index
      %down = arith.subi %queryRow, %keyRow : index
      %right = arith.subi %center, %keyColumn : index
      %rowDistance = arith.addi %down, %radius : index
      %columnDistance = arith.addi %right, %radius : index
      %size = arith.constant 13 : index
      %nearRow = arith.cmpi ult, %rowDistance, %size : index
      %nearColumn = arith.cmpi ult, %columnDistance, %size : index
      %keep = arith.andi %nearRow, %nearColumn : i1
      attn.yield %keep : i1
    }
    : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    -> tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

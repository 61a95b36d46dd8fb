/**
 * Cells of a grid that is halved in both directions again and again: a digit (0 to 3) for each step. The relation of two rectangles
 * can then be expressed by words of digits with the same beginning.
 */
import { perDegree, type Rectangle } from './rectangles.ts'

/** The number of steps of a point: cells of half a metre. */
const deepest = 26

const width = 360 * perDegree
const height = 180 * perDegree

/** The cells that contain a rectangle, four at most: small cells for small rectangles. */
export function cellsOf(rectangle: Rectangle): readonly string[] {
  const { west, south, east, north } = rectangle
  const share = Math.max((east - west) / width, (north - south) / height)
  const depth = share === 0 ? deepest : Math.max(0, Math.min(deepest, Math.floor(-Math.log2(share))))
  const [left, right] = [column(west, depth), column(east, depth)]
  const [bottom, top] = [row(south, depth), row(north, depth)]
  const cells: string[] = []
  for (let x = left; x <= right; x++) for (let y = bottom; y <= top; y++) cells.push(cellName(x, y, depth))
  return cells
}

/** The last column and the last row also include their far edge. */
const column = (x: number, depth: number): number =>
  Math.min(2 ** depth - 1, Math.floor(((x + width / 2) / width) * 2 ** depth))
const row = (y: number, depth: number): number =>
  Math.min(2 ** depth - 1, Math.floor(((y + height / 2) / height) * 2 ** depth))

function cellName(x: number, y: number, depth: number): string {
  let name = ''
  for (let step = depth - 1; step >= 0; step--) {
    const half = 2 ** step
    name += String((Math.floor(x / half) % 2) + 2 * (Math.floor(y / half) % 2))
  }
  return name
}

/** The highest number of cells that represent an area. More cells are more exact, and more work for the index. */
const mostCells = 24

/**
 * Cells that cover rectangles (`within`), and the larger cells that contain these (`around`). A geometry that shares a point with
 * the rectangles has a cell of either kind.
 */
export function coverOf(rectangles: readonly Rectangle[]): {
  readonly within: readonly string[]
  readonly around: readonly string[]
} {
  let open: Cell[] = [{ name: '', x: 0, y: 0, depth: 0 }]
  const whole: Cell[] = []
  while (open.length > 0) {
    const next = open.flatMap(quarters).filter((cell) => rectangles.some((each) => meets(cell, each)))
    const done = next.filter((cell) => cell.depth === deepest || rectangles.some((each) => isWithin(cell, each)))
    const rest = next.filter((cell) => !done.includes(cell))
    if (whole.length + done.length + rest.length > mostCells) break
    whole.push(...done)
    open = rest
  }
  const within = [...whole, ...open].map(({ name }) => name)
  const around = new Set(
    within.flatMap((name) => Array.from({ length: name.length }, (_, length) => name.slice(0, length))),
  )
  return { within, around: [...around] }
}

interface Cell {
  readonly name: string
  readonly x: number
  readonly y: number
  readonly depth: number
}

function quarters({ name, x, y, depth }: Cell): Cell[] {
  return [0, 1, 2, 3].map((digit) => ({
    name: name + digit,
    x: 2 * x + (digit % 2),
    y: 2 * y + (digit >> 1),
    depth: depth + 1,
  }))
}

function meets({ x, y, depth }: Cell, { west, south, east, north }: Rectangle): boolean {
  return x >= column(west, depth) && x <= column(east, depth) && y >= row(south, depth) && y <= row(north, depth)
}

function isWithin({ x, y, depth }: Cell, { west, south, east, north }: Rectangle): boolean {
  const cell = { w: width / 2 ** depth, h: height / 2 ** depth }
  return (
    x * cell.w - width / 2 >= west &&
    (x + 1) * cell.w - width / 2 <= east &&
    y * cell.h - height / 2 >= south &&
    (y + 1) * cell.h - height / 2 <= north
  )
}

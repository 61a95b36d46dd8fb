import { badRequest } from '../../platform/errors.ts'
import { systemColumns } from './system.ts'

/** Columns in the order of discovery: each has the number of its first occurrence until all are known. */
export class Columns {
  readonly #numbers = new Map<string, number>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  /** @throws {AppError} when there are more columns than the format allows */
  numberOf(path: string): number {
    const known = this.#numbers.get(path)
    if (known !== undefined) return known
    const number = this.#numbers.size
    if (number >= this.#most) {
      throw badRequest(`the table would have more than ${this.#most} columns: ask for fewer fields`, {
        most: this.#most,
      })
    }
    this.#numbers.set(path, number)
    return number
  }

  /** Paths in the order of the table: system fields, fields, rows; with the place of each number in it. */
  ordered(): { readonly paths: readonly string[]; readonly places: Uint32Array } {
    const keys = new Map([...this.#numbers.keys()].map((path) => [path, keyOf(path)]))
    const paths = [...keys.keys()].sort((a, b) => compareKeys(keys.get(a) as Key, keys.get(b) as Key))
    const places = new Uint32Array(paths.length)
    for (const [place, path] of paths.entries()) places[this.#numbers.get(path) as number] = place
    return { paths, places }
  }
}

type Key = readonly (string | number)[]

const ranks = new Map<string, number>(systemColumns.map((name, index) => [name, index]))

/** The sort key: group, place among the system fields, and the steps of the path, in which digits are numbers. */
function keyOf(path: string): Key {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '')
  const rank = ranks.get(steps[0] ?? '')
  const group = rank !== undefined ? 0 : path.includes('nested:') ? 2 : 1
  return [group, rank ?? 0, ...steps.map((step) => (/^\d{1,9}$/.test(step) ? Number(step) : step))]
}

function compareKeys(a: Key, b: Key): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const [one, other] = [a[index] as string | number, b[index] as string | number]
    if (one === other) continue
    if (typeof one === 'number' && typeof other === 'number') return one - other
    return String(one) < String(other) ? -1 : 1
  }
  return a.length - b.length
}

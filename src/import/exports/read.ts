import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { isUuid, isWire, type Wire } from './model.ts'
import { PackageProblem } from './problem.ts'

/** Maximum number of characters of one object. */
const longestObject = 64 * 1024 * 1024

/**
 * The objects of documents, as exports write them: a list with one object on each line, or one object alone. After all of them come
 * the objects that are inside others as reverse-nested objects: the same ones again, or ones that are only there.
 * @throws {PackageProblem}
 */
export async function* readObjects(documents: readonly string[]): AsyncGenerator<Wire> {
  yield* objectsIn(documents)
  for await (const object of objectsIn(documents)) yield* reverseOf(object)
}

async function* objectsIn(documents: readonly string[]): AsyncGenerator<Wire> {
  for (const document of documents) {
    const lines = createInterface({ input: createReadStream(document, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY })
    let number = 0
    for await (const line of lines) {
      number++
      const text = bare(line)
      if (text === '') continue
      yield parsed(text, `${document}, line ${number}`)
    }
  }
}

/** Without the separators of the list. */
function bare(line: string): string {
  if (line.length > longestObject) throw new PackageProblem(`an object is longer than ${longestObject} letters`)
  const start = line.startsWith('[') ? 1 : 0
  const end = /[,\]]$/.test(line) ? line.length - 1 : line.length
  const text = line.slice(start, end).trim()
  return text === ']' ? '' : text
}

function parsed(text: string, place: string): Wire {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new PackageProblem(`${place} is no object of an export: exports have one on each line`)
  }
  if (!isWire(value)) throw new PackageProblem(`${place} is no object`)
  const { _objecttype: type, _uuid: uuid } = value
  if (typeof type !== 'string' || !isWire(value[type]))
    throw new PackageProblem(`${place} has no _objecttype with its fields`)
  if (!isUuid(uuid)) throw new PackageProblem(`${place} has no _uuid`)
  return value
}

function* reverseOf(object: Wire): Generator<Wire> {
  const block = object[String(object._objecttype)] as Wire
  for (const [key, value] of Object.entries(block)) {
    if (!key.startsWith('_reverse_nested:') || !Array.isArray(value)) continue
    for (const row of value as unknown[]) {
      if (isWire(row) && isUuid(row._uuid) && typeof row._objecttype === 'string' && isWire(row[row._objecttype])) {
        yield row
        yield* reverseOf(row)
      }
    }
  }
}

import { isMap, isScalar, LineCounter, parseDocument } from 'yaml'
import type { AppError } from '../../platform/errors.ts'
import { assertStorable } from '../../platform/values/text.ts'
import { isObject, manifestName, wrongManifest } from './reader.ts'

/** Bytes of a manifest: the longest known has a sixth of it. While one is read, the process answers no other request. */
export const longestManifest = 64 * 1024
/** Aliases may refer to each other, but only so many times. */
const mostAliases = 100
const deepest = 60
const mostBrackets = 2000
const mostMarks = 100
/** Names and values in a manifest after aliases are resolved. */
const mostValues = 20_000

/** A manifest, or a file that it names, as JSON. @throws {AppError} that names the file and the line. */
export function readYaml(bytes: Buffer, name = manifestName): Record<string, unknown> {
  const wrong = (message: string, parameters: Record<string, unknown> = {}): AppError =>
    wrongManifest(message, { ...parameters, name })
  if (bytes.length > longestManifest) {
    throw wrong(`it is longer than ${longestManifest} bytes`, { most: longestManifest })
  }
  let value: unknown
  try {
    const lineCounter = new LineCounter()
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    assertFlat(text)
    const document = parseDocument(text, { lineCounter, merge: true, uniqueKeys: true, stringKeys: true })
    const [error] = document.errors
    if (error) {
      const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
      throw wrong(`line ${line}, column ${col}: ${firstLine(error.message)}`, { line, column: col })
    }
    keepVersion(document.contents)
    value = document.toJS({ maxAliasCount: mostAliases })
  } catch (error) {
    if (error instanceof Error && error.name === 'AppError') throw error
    throw wrong(`it cannot be read: ${firstLine(error instanceof Error ? error.message : String(error))}`)
  }
  if (!isObject(value)) throw wrong('it must be an object')
  assertSmall(value)
  assertStorable(value, 'manifest')
  // Dates and similar values become their JSON form.
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>
}

/** The text `1.0` of a version must not become the number 1. */
function keepVersion(contents: unknown): void {
  if (!isMap(contents)) return
  const plugin = contents.get('plugin', true) as unknown
  const version = isMap(plugin) ? (plugin.get('version', true) as unknown) : undefined
  if (isScalar(version) && typeof version.value === 'number' && typeof version.source === 'string') {
    version.value = version.source
  }
}

function firstLine(text: string): string {
  return (text.split('\n', 1)[0] ?? '').slice(0, 300)
}

function assertSmall(value: unknown): void {
  let left = mostValues
  const count = (one: unknown, depth: number): void => {
    if (--left < 0) throw wrongManifest(`it has more than ${mostValues} values`, { most: mostValues })
    if (depth > deepest) throw wrongManifest(`it is nested deeper than ${deepest}`, { most: deepest })
    if (typeof one === 'object' && one !== null) for (const inner of Object.values(one)) count(inner, depth + 1)
  }
  count(value, 0)
}

/**
 * The YAML parser handles nesting by recursion, which takes seconds before it gives up: text with so many brackets is
 * refused.
 */
function assertFlat(text: string): void {
  let brackets = 0
  let marks = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '[' || character === '{') brackets++
    // Each dash of `- - - -` opens a list.
    if (character === '-' || character === '?' || character === ':') marks++
    else if (character !== ' ' && character !== '\t') marks = 0
    if (brackets > mostBrackets || marks > mostMarks) throw wrongManifest('it opens too many lists and objects')
  }
}

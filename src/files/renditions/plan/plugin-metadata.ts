/** Statements about a file by programs that are installed beside the service, in addition to the file's own metadata. */

import { AppError } from '../../../platform/errors.ts'
import { isRecord } from '../../../platform/values/records.ts'
import { assertStorable } from '../../../platform/values/text.ts'
import type { OriginalType, RecipeProgram } from '../model.ts'
import type { RecipePrograms, RecipeSource } from '../recipes/added.ts'
import { CannotMake } from '../workshop/failure.ts'
import { type Tag, tagsOf } from '../workshop/technical.ts'

/** A program without usable output. */
interface Unsaid {
  readonly recipe: string
  readonly problem: CannotMake
  /** The output of the program that is not JSON; null: none. */
  readonly body: string | null
}

export interface PluginMetadata {
  readonly tags: readonly Tag[]
  readonly texts: readonly string[]
  readonly technical: Readonly<Record<string, unknown>>
  readonly unsaid: readonly Unsaid[]
}

export const noPluginMetadata: PluginMetadata = { tags: [], texts: [], technical: {}, unsaid: [] }

/** Most characters of a body in the log, and of all technical metadata. */
const longestBody = 2000
const longestTechnical = 100_000
/** Depth of nested members in the names of tags. */
const deepest = 8
const mostMembers = 2000

interface Saying {
  readonly tags: Tag[]
  readonly texts: string[]
  technical: Record<string, unknown>
  readonly unsaid: Unsaid[]
}

/** Runs the programs for originals of the type, one after the other. A failure does not stop the others. */
export async function sayAll(
  programs: RecipePrograms,
  type: OriginalType,
  source: RecipeSource,
  signal: AbortSignal,
): Promise<PluginMetadata> {
  const said: Saying = { tags: [], texts: [], technical: {}, unsaid: [] }
  for (const program of programs.saying(type)) {
    try {
      const { values, texts } = await programs.say(program, source, signal)
      said.texts.push(...texts)
      for (const { text, value } of values) take(said, program, text, value)
    } catch (problem) {
      if (!(problem instanceof CannotMake)) throw problem
      said.unsaid.push({ recipe: program.name, problem, body: null })
    }
  }
  return said
}

function take(said: Saying, { name }: RecipeProgram, text: string, value: unknown): void {
  if (!isRecord(value)) {
    const problem = new CannotMake('unreadable', 'it has written no JSON object')
    const body = text.slice(0, longestBody).replaceAll('\0', '').toWellFormed()
    said.unsaid.push({ recipe: name, problem, body })
    return
  }
  try {
    assertStorable(value, 'its answer')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    said.unsaid.push({ recipe: name, problem: new CannotMake('unreadable', error.message), body: null })
    return
  }
  const { _fulltext: fulltext, _technical_metadata: technical, ...groups } = value
  said.texts.push(...textsIn(fulltext))
  if (isRecord(technical) && JSON.stringify(technical).length <= longestTechnical) {
    said.technical = { ...said.technical, ...technical }
  }
  said.tags.push(...tagsOf(Object.fromEntries(membersOf(groups).take(mostMembers))))
}

/** By group and name, in the form of ExifTool. */
function* membersOf(groups: Record<string, unknown>): Generator<[string, unknown]> {
  for (const [group, members] of Object.entries(groups)) {
    if (!isRecord(members)) continue
    for (const [name, value] of membersIn(members, '', deepest)) yield [`${group}:${name}`, value]
  }
}

/** Each value in nested objects is one member, named by its path. */
function* membersIn(object: Record<string, unknown>, way: string, depth: number): Generator<[string, unknown]> {
  for (const [key, value] of Object.entries(object)) {
    const name = `${way}${key}`
    if (isRecord(value) && depth > 1) yield* membersIn(value, `${name}.`, depth - 1)
    else if (value !== null) yield [name, value]
  }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  const list = Array.isArray(value) ? value : isRecord(value) ? Object.values(value).flat() : []
  return list.filter((one) => typeof one === 'string')
}

/** Answers of plugins about an export. */
import { linesOf } from '../../plugins/service.ts'
import type { StoredExport } from '../model.ts'

const states = ['done', 'done_with_warnings', 'failed'] as const
export type AnsweredState = (typeof states)[number]

/** A file in a plugin's answer: an existing one, by its id or its path, or a new one. */
export interface AnsweredFile {
  readonly id: number | null
  readonly formerPath: string | null
  readonly path: string
  readonly hidden: boolean
  readonly contentType: string | null
  /** Empty: the file keeps its content. */
  readonly action: string
}

export interface PluginAnswer {
  readonly state: AnsweredState
  readonly log: readonly string[]
  /** Null: the files are not changed. */
  readonly files: readonly AnsweredFile[] | null
}

type Problem = (text: string) => Error

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws the result of `problem`, for a text that continues after the name of the plugin */
export function readState(body: unknown, problem: Problem): AnsweredState {
  if (!isObject(body)) throw problem('answered no object')
  const state = states.find((one) => one === body._state)
  if (!state) throw problem(`answered no _state: ${states.join(', ')}`)
  return state
}

/** @throws as `readState` */
export function readPluginAnswer(body: unknown, { id, version }: StoredExport, problem: Problem): PluginAnswer {
  const state = readState(body, problem)
  const { export: block, _files: files, _plugin_log: log } = body as Readonly<Record<string, unknown>>
  if (!isObject(block) || block._id !== id || block._version !== version) {
    throw problem('answered another export: _id and _version must be those that it was given')
  }
  if (files !== undefined && files !== null && !Array.isArray(files)) throw problem('answered _files that are no list')
  return {
    state,
    log: linesOf(log),
    files: files ? (files as unknown[]).map((file, index) => readFile(file, index, problem)) : null,
  }
}

const longestPath = 1000
const contentTypes = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}(; ?charset=[\w-]{1,40})?$/

function readFile(file: unknown, index: number, problem: Problem): AnsweredFile {
  const at = `_files.${index}`
  if (!isObject(file) || (file.export_file_internal !== undefined && !isObject(file.export_file_internal))) {
    throw problem(`answered ${at}, which is no object`)
  }
  const own: Readonly<Record<string, unknown>> = isObject(file.export_file_internal) ? file.export_file_internal : {}
  const path = own.path ?? file.path
  if (typeof path !== 'string' || !isSafe(path)) {
    throw problem(`answered ${at} without a path of names that are separated by slashes`)
  }
  const { id = null, hidden = false, content_type: type = null, plugin_action: action = '' } = own
  if (id !== null && !Number.isSafeInteger(id)) throw problem(`answered ${at} with an id that is none`)
  if (typeof hidden !== 'boolean') throw problem(`answered ${at} with hidden that is neither true nor false`)
  if (type !== null && !(typeof type === 'string' && contentTypes.test(type))) {
    throw problem(`answered ${at} with a content_type that is none`)
  }
  if (typeof action !== 'string' || action.length > 1000 || action.includes('\0')) {
    throw problem(`answered ${at} with a plugin_action that is no text of at most 1,000 characters`)
  }
  return {
    id: id as number | null,
    formerPath: typeof file.path === 'string' ? file.path : null,
    path: path.normalize('NFC'),
    hidden,
    contentType: type as string | null,
    action: action.toWellFormed(),
  }
}

/** Whether a path stays within its folder when it is unpacked, on any system. */
function isSafe(path: string): boolean {
  if (path.length > longestPath || !path.isWellFormed() || /[\u0000-\u001f\u007f\\:*?"<>|]/.test(path)) return false
  return path.split('/').every((step) => step !== '' && Buffer.byteLength(step) <= 255 && !/^\.{1,2}$|[. ]$/.test(step))
}

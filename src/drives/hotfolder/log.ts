/** `hotfolder.log` of a drop folder: a row for each attempt to import a file, and the logs beside failed files. */
import { constants } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { type Folder, lookAt, openFile } from './folder.ts'
import type { ImportResult } from './model.ts'
import { logName, oldLogName } from './names.ts'

const { O_WRONLY, O_CREAT, O_APPEND, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants

/** Bytes after which a log is renamed; an earlier renamed log is replaced. */
const longestLog = 10 * 1024 * 1024

const columns = ['date', 'user', 'path', 'file', 'size', 'system_object_id', 'file_eas_id', 'status', 'msg']

export async function appendLog(folder: Folder, user: string, results: readonly ImportResult[]): Promise<void> {
  if (results.length === 0) return
  const date = new Date().toISOString()
  const rows = results.map(({ file, systemObjectIds, fileId, status, message }) =>
    [
      date,
      user,
      file.folders.join('/'),
      file.name,
      file.bytes,
      systemObjectIds.join(','),
      fileId ?? '',
      status,
      message,
    ]
      .map(asCell)
      .join('\t'),
  )
  const there = await lookAt(folder, logName)
  const isFull = (there?.size ?? 0) > longestLog
  if (isFull) await rename(folder.at(logName), folder.at(oldLogName))
  const header = !there || isFull || there.size === 0 ? `${columns.join('\t')}\n` : ''
  await write(folder, logName, O_APPEND, `${header}${rows.join('\n')}\n`)
}

/** A text without characters that end a cell or a row. */
function asCell(value: string | number): string {
  return String(value)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .slice(0, 2000)
}

/** The first line of such a log, so that it is never taken for a file to import. */
const failureLogBegins = 'This file could not be imported.'

/** The log beside a failed file. */
export async function writeFailureLog(folder: Folder, name: string, message: string): Promise<void> {
  await write(folder, name, O_TRUNC, `${failureLogBegins}\n${new Date().toISOString()}\n${message}\n`)
}

async function write(folder: Folder, name: string, how: number, text: string): Promise<void> {
  const handle = await open(folder.at(name), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | how, 0o660)
  try {
    if ((await handle.stat()).isFile()) await handle.writeFile(text)
  } finally {
    await handle.close()
  }
}

/** Whether a file is the log of a failed import, even after a rename. */
export async function isFailureLog(folder: Folder, name: string, bytes: number): Promise<boolean> {
  if (!name.endsWith('.log') || bytes > 10_000) return false
  await using handle = await openFile(folder, name)
  if (!handle) return false
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(failureLogBegins.length), 0, failureLogBegins.length, 0)
  return buffer.toString('latin1', 0, bytesRead) === failureLogBegins
}

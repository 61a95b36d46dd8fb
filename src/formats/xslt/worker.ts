/**
 * Applies a style sheet, in a separate thread that ends with it. The library would load addresses by `fetch`; it cannot
 * read files; it reports errors by `writeSync`. So `fetch` is refused, and the output of `writeSync` is kept. The limits
 * of threads do not count the memory of WebAssembly, so it is limited where it grows.
 */
import fs from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { SheetAnswer, SheetTask } from './sheets.ts'

interface Memory {
  readonly buffer: ArrayBuffer
  grow(pages: number): number
}

/** TypeScript's library for Node.js does not declare it. */
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: { readonly Memory: { readonly prototype: Memory } }
}

const task = workerData as SheetTask
const page = 65_536
const longest = 2000
let said = ''

globalThis.fetch = () => Promise.reject(new Error('a style sheet reads no other files or addresses'))
fs.writeSync = ((_descriptor: number, text: unknown) => {
  if (said.length < longest) said += String(text)
  return String(text).length
}) as typeof fs.writeSync
const { grow } = WebAssembly.Memory.prototype
WebAssembly.Memory.prototype.grow = function (this: Memory, pages) {
  if (this.buffer.byteLength + pages * page > task.memory) throw new RangeError('the style sheet takes too much memory')
  return grow.call(this, pages)
}

const { XmlDocument, XsltStylesheet } = await import('libxslt-wasm')
const { registerAll } = await import('libxslt-wasm/exslt')
registerAll()

const apart = { noNet: true, noXxe: true }

async function compiled(text: string) {
  const sheet = await XsltStylesheet.fromXmlDocument(await XmlDocument.fromString(text, { options: apart }))
  // The library continues after an instruction that it does not understand.
  if (said.includes('compilation error')) throw new Error('it is not understood')
  return sheet
}

async function answer(): Promise<string> {
  const sheet = await compiled(task.sheet)
  if (task.xml === null) return ''
  const result = await sheet.apply(await XmlDocument.fromString(task.xml, { options: { ...apart, huge: true } }))
  if (task.next === undefined) return sheet.applyToString(result)
  const further = await compiled(task.next)
  return further.applyToString(await further.apply(result))
}

answer().then(
  (text) => parentPort?.postMessage({ text } satisfies SheetAnswer),
  (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    parentPort?.postMessage({ error: `${reason} ${said}` } satisfies SheetAnswer)
  },
)

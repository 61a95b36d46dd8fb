import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** ExifTool by itself, as somebody else would use it. */
const own = createRequire(import.meta.url)
const script: unknown = own(createRequire(own.resolve('exiftool-vendored')).resolve('exiftool-vendored.pl'))

async function run(args: readonly string[], content: Buffer, name: string): Promise<{ said: string; content: Buffer }> {
  const folder = await mkdtemp(join(tmpdir(), 'exiftool-'))
  try {
    const path = join(folder, name)
    await writeFile(path, content)
    const { stdout } = await promisify(execFile)('perl', [`${script}`, '-config', '', ...args, path])
    return { said: stdout, content: await readFile(path) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** The content with these tags, as arguments of the program say it: `-XMP-dc:Title=Lake`. */
export async function tagged(content: Buffer, args: readonly string[], name = 'a.jpg'): Promise<Buffer> {
  return (await run(['-overwrite_original', '-m', '-charset', 'iptc=utf8', ...args], content, name)).content
}

/** What the content says, by group and name; lists as lists. */
export async function tagsIn(content: Buffer, name = 'a.jpg'): Promise<Record<string, unknown>> {
  const { said } = await run(['-j', '-G1', '-a', '-struct'], content, name)
  return JSON.parse(said)[0]
}

/** The same of many at once. */
export async function tagsInAll(contents: readonly Buffer[]): Promise<readonly Record<string, unknown>[]> {
  const folder = await mkdtemp(join(tmpdir(), 'exiftool-'))
  try {
    const paths = contents.map((_, index) => join(folder, `${index}.jpg`))
    for (const [index, path] of paths.entries()) await writeFile(path, contents[index] as Buffer)
    const { stdout } = await promisify(execFile)('perl', [`${script}`, '-config', '', '-j', '-G1', '-a', ...paths], {
      maxBuffer: 50_000_000,
    })
    return JSON.parse(stdout)
  } finally {
    await rm(folder, { recursive: true })
  }
}

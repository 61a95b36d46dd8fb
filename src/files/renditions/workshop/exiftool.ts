import { access, mkdtemp } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createExiftoolProcess } from './exiftool-process.ts'
import { CannotMake, reasonOf } from './failure.ts'
import type { EmbeddedTask, Order, StripTask, TagsTask } from './tasks.ts'
import { type Tag, tagsOf } from './technical.ts'

/**
 * ExifTool, a program in Perl that comes in a package. A process of the workshop keeps it running for the files that it is
 * given (exiftool-process.ts), without any configuration, and reads its output: whatever that is, the service gets tags of
 * a bounded size.
 */
const needed = 'exiftool-vendored'

/** This process does one task at a time, and so does its ExifTool. */
const shared = createExiftoolProcess()

export type Limits = Order['limits']

/** Most bytes of ExifTool's output: for pictures with a long history it has some millions. */
const mostSaid = 32_000_000
/** Bytes of memory; photos take less than 100 MB. */
const mostMemory = 400_000_000

/** The tags of a TIFF's first directory are removed one by one, since it also describes the picture. */
const stripped = [
  '-all=',
  '-CommonIFD0=',
  '--ICC_Profile:all',
  '-TagsFromFile',
  '@',
  '-ColorSpaceTags',
  '-Orientation',
  '-XResolution',
  '-YResolution',
  '-ResolutionUnit',
  '-overwrite_original',
  '-m',
]

/** Tags with an embedded preview, the best first. */
const embeddedTags = ['JpgFromRaw', 'PreviewImage', 'OtherImage', 'PageImage', 'PhotoshopThumbnail', 'ThumbnailImage']

/** All tags. @throws {CannotMake} */
export async function readTags({ source }: TagsTask, limits: Limits): Promise<readonly Tag[]> {
  const args = ['-j', '-G1', '-l', '-a', '-api', 'LargeFileSupport=1', '-fast', source.path]
  const said = await exiftool(args, limits, 'its metadata cannot be read')
  const [read] = parsed(said)
  if (typeof read !== 'object' || read === null) throw new CannotMake('unreadable', 'its metadata cannot be read')
  return tagsOf(read as Record<string, unknown>)
}

function parsed(said: Buffer): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(said.toString('utf8'), asWritten)
    return Array.isArray(read) ? read : []
  } catch (cause) {
    throw new CannotMake('unreadable', 'its metadata cannot be read', { cause })
  }
}

/**
 * Values that look like numbers are numbers in the output. A text such as `1.50`, which the number would not reproduce,
 * stays a text.
 */
function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && `${value}` !== source ? source : value
}

/** @throws {CannotMake} */
export async function strip({ source }: StripTask, limits: Limits): Promise<null> {
  await change([...stripped, source.path], limits, 'its metadata cannot be taken out')
  return null
}

/** Lets ExifTool change a file. @throws {CannotMake} also where it reports that it changed nothing */
export async function change(args: readonly string[], limits: Limits, problem: string, config = ''): Promise<void> {
  const said = (await exiftool(args, limits, problem, config)).toString('utf8')
  if (/\b1 image files (?:updated|unchanged)/.test(said) && !said.includes("weren't updated")) return
  throw new CannotMake('unreadable', problem)
}

/** The path of the largest preview embedded in the file. @throws {CannotMake} */
export async function embedded({ source, folder }: EmbeddedTask, limits: Limits): Promise<string> {
  const into = await mkdtemp(join(folder, 'embedded-'))
  for (const tag of embeddedTags) {
    const path = join(into, `${tag}.jpg`)
    // %0f: leaves out the name of the source, so that the file name is exactly the rest.
    const args = ['-b', `-${tag}`, '-w', `${into}/%0f${tag}.jpg`, source.path]
    await exiftool(args, limits, '').catch((error: unknown) => {
      if (!(error instanceof CannotMake) || error.kind === 'unavailable' || error.late) throw error
    })
    const there = await access(path).then(
      () => true,
      () => false,
    )
    if (there) return path
  }
  throw new CannotMake('unreadable', 'the file carries no picture of itself')
}

async function exiftool(args: readonly string[], limits: Limits, problem: string, config = ''): Promise<Buffer> {
  // Each argument is a line: the rest of a path must not be taken for further arguments.
  if (args.some((arg) => /[\r\n]/.test(arg))) throw new CannotMake('unreadable', `${problem}: its path has line breaks`)
  const memory = Math.min(mostMemory, limits.memory)
  const bounds = { seconds: limits.seconds, memory, output: limits.output, said: mostSaid, addresses: memory }
  // A program with a configuration serves a single command.
  const program = config === '' ? shared : createExiftoolProcess()
  // Uses neither a configuration of the machine nor one in the working folder.
  const command = ['perl', script(), '-config', config, '-stay_open', 'True', '-@', '-'] as const
  const end = await program.run(command, ['-charset', 'filename=utf8', ...args], bounds)
  if (program !== shared) program.end()
  if (end.kind === 'absent') {
    throw new CannotMake('unavailable', `${needed} needs Perl on the machine`, { needs: needed })
  }
  if (end.kind === 'broken') {
    throw new CannotMake('unreadable', `${problem}: ExifTool ${end.broken.reason}`, {
      late: end.broken.limit === 'time',
    })
  }
  if (end.code === 0) return end.output
  // It also reports unreadable data as part of its output.
  if (end.code === 1 && end.output.length > 2) return end.output
  const last = end.errors.trim().split('\n').at(-1) ?? ''
  throw new CannotMake('unreadable', `${problem}${last === '' ? '' : ` (${reasonOf(last).slice(0, 200)})`}`)
}

/** The path of the program: in a dependency of the package, which is not installed everywhere. */
function script(): string {
  try {
    const own = createRequire(import.meta.url)
    const path: unknown = own(createRequire(own.resolve(needed)).resolve(`${needed}.pl`))
    if (typeof path === 'string') return path
  } catch (cause) {
    throw new CannotMake('unavailable', `it needs the package ${needed}`, { cause, needs: needed })
  }
  throw new CannotMake('unavailable', `it needs the package ${needed}`, { needs: needed })
}

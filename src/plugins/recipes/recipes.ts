/** Runs recipes of plugins. */
import { constants, createReadStream, createWriteStream } from 'node:fs'
import { copyFile, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CannotMake, type RecipeProgram, type RecipePrograms, type RecipeSource } from '../../files/service.ts'
import { CallbackFailed } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import type { Program, UsedRecipe } from '../manifest/model.ts'
import type { Plugin, PluginSnapshot } from '../model.ts'
import { parsedJson } from '../run/answer.ts'
import { type Call, type Caller, NoPlace } from '../run/call.ts'
import { execute } from '../run/execute.ts'
import type { Services } from '../run/programs.ts'
import { recipeProgram } from './added.ts'

export interface RecipeRunOptions {
  readonly plugins: () => PluginSnapshot
  readonly caller: Caller
  readonly services: Services
  readonly systemActor: () => Promise<Actor>
}

/** Most bytes of an output file with metadata, and of one with text. */
const mostMetadata = 1_000_000
const mostText = 5_000_000

export function createRecipePrograms({ plugins, caller, services, systemActor }: RecipeRunOptions): RecipePrograms {
  /** Finds the present recipe: it may have been removed since the rendition was planned. @throws {CannotMake} */
  function find({ name, params }: RecipeProgram): { readonly plugin: Plugin; readonly recipe: UsedRecipe } {
    for (const plugin of plugins().enabled) {
      const { renditions, metadata, asked } = plugin.manifest.produce
      const found = [...renditions, ...metadata, ...asked].find(({ recipe }) => recipe.name === name)
      if (found) return { plugin, recipe: { ...found.recipe, params } }
    }
    throw new CannotMake('unavailable', `there is no recipe ${name} here`)
  }

  /** Runs a recipe; answers the result of `take` for the folder in which its commands have worked. */
  async function run<T>(
    program: RecipeProgram,
    source: RecipeSource,
    signal: AbortSignal,
    take: (folder: string, recipe: UsedRecipe) => Promise<T>,
  ): Promise<T> {
    const { plugin, recipe } = find(program)
    const bare = asProgram(
      recipe,
      recipe.commands.map(({ prog }) => ({ prog, args: [] })),
    )
    const missing = await services.problemOf(bare)
    if (missing !== null)
      throw new CannotMake('unavailable', `${recipe.name}: ${missing.slice(recipe.path.length + 1)}`)
    const request = {
      plugin,
      program: bare,
      actor: await systemActor(),
      request: null,
      more: { recipe: recipe.name, recipe_params: recipe.params },
      signal,
      // Callbacks, which people wait for, have separate places.
      places: 'recipes',
    }
    return caller.run(request, async (call) => {
      try {
        return await work(call, recipe, source, take)
      } catch (error) {
        // The service ends, or the job is stopped: the recipe is tried again.
        if (call.signal.aborted || error instanceof CannotMake || !(error instanceof CallbackFailed)) throw error
        throw new CannotMake('unreadable', `${recipe.name}: ${call.clean(error.message)}`, { cause: error })
      }
    })
  }

  const say: RecipePrograms['say'] = (program, source, signal) =>
    run(program, source, signal, async (folder, { name, metadata }) => {
      const values: { text: string; value: unknown }[] = []
      const texts: string[] = []
      for (const { file, fulltext } of metadata) {
        const path = join(folder, file)
        const size = await sizeOf(path)
        if (size === null) throw new CannotMake('unreadable', `${name}: its program has written no ${file}`)
        const most = fulltext ? mostText : mostMetadata
        if (size > most) throw new CannotMake('unreadable', `${name}: ${file} is longer than ${most} bytes`)
        const text = await textOf(path)
        if (fulltext) texts.push(text)
        else values.push({ text, value: parsedJson(text) })
      }
      return { values, texts }
    })

  async function work<T>(
    call: Call,
    recipe: UsedRecipe,
    source: RecipeSource,
    take: (folder: string, recipe: UsedRecipe) => Promise<T>,
  ): Promise<T> {
    const [folder, sources] = [await call.workFolder(), await call.workFolder()]
    const commands = await Promise.all(
      recipe.commands.map(async ({ prog, args }) => ({
        prog,
        args: await Promise.all(
          args.map(async (arg) => {
            if (typeof arg === 'string') return withParams(arg, recipe.params)
            if (arg.kind === 'target') return join(folder, arg.name)
            return copied(source, sources, arg.name ?? `source.${source.extension}`)
          }),
        ),
      })),
    )
    const outputs = recipe.commands.flatMap(({ output }) => output ?? []).values()
    let unwritten: Error | null = null
    const end = await execute({
      services,
      call: { ...call, workFolder: () => Promise.resolve(folder) },
      program: asProgram(recipe, commands),
      input: Buffer.alloc(0),
      async take({ output }) {
        const file = outputs.next().value
        if (file !== undefined) {
          await pipeline(output, createWriteStream(join(folder, file))).catch((error: Error) => {
            unwritten = error
          })
        }
      },
    })
    if (call.signal.aborted) throw new Error('a recipe was stopped')
    if (end.kind === 'broken') throw new CallbackFailed(`its program ${end.reason}`)
    if (end.code !== 0) throw new CallbackFailed(`its program ended with the code ${end.code}`)
    // The disk is full, or a similar error: an incomplete file is no result, and the job is tried again.
    if (unwritten) throw unwritten
    return take(folder, recipe)
  }

  return {
    saying({ class: kind, extension }) {
      if (kind === 'unknown') return []
      return plugins().enabled.flatMap((plugin) =>
        plugin.manifest.produce.metadata
          .filter(({ extensions }) => extensions.length === 0 || extensions.includes(extension))
          .map(({ recipe }) => recipeProgram(plugin, recipe)),
      )
    },

    make: (program, source, into, signal) =>
      run(program, source, signal, async (folder, { name, extension, commands }) => {
        const target = commands
          .flatMap(({ args }) => args)
          .find((arg) => typeof arg === 'object' && arg.kind === 'target')
        const file = typeof target === 'object' ? target.name : ''
        const size = await sizeOf(join(folder, file))
        if (size === null) throw new CannotMake('unreadable', `${name}: its program has written no ${file}`)
        const made = join(into, extension === null ? file : `made.${extension}`)
        await copyFile(join(folder, file), made, constants.COPYFILE_FICLONE)
        return made
      }),

    say,

    ask: (...given) =>
      say(...given).catch((error: unknown) => {
        if (error instanceof NoPlace) throw new CannotMake('unavailable', `${given[0].name}: ${error.message}`)
        throw error
      }),
  }
}

/** The recipe in the form of a program. */
function asProgram(
  { path, service, seconds, commands: own }: UsedRecipe,
  commands: readonly { readonly prog: string; readonly args: readonly string[] }[],
): Program {
  return {
    path,
    service,
    seconds,
    keep: false,
    pluginUser: null,
    commands: commands.map((command, index) => ({
      ...command,
      takesInput: false,
      givesOutput: (own[index]?.output ?? null) !== null,
      seconds: own[index]?.seconds ?? null,
    })),
  }
}

function withParams(arg: string, params: UsedRecipe['params']): string {
  return arg.replaceAll(/%(\w[\w-]*)%/g, (whole, name: string) => {
    if (!Object.hasOwn(params, name)) return whole
    const value = params[name]
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

/** A program works on a copy, so that it cannot change the file of the service. */
async function copied({ path }: RecipeSource, folder: string, name: string): Promise<string> {
  const to = join(folder, name)
  await mkdir(folder, { recursive: true })
  await copyFile(path, to, constants.COPYFILE_FICLONE)
  return to
}

/** The size of a non-empty file; null: there is none. */
async function sizeOf(path: string): Promise<number | null> {
  const info = await stat(path).catch(() => null)
  return info?.isFile() && info.size > 0 ? info.size : null
}

async function textOf(path: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(path)) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

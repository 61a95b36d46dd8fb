/** The renditions and metadata that a plugin makes of files (`fas_config`). */
import { AppError } from '../../platform/errors.ts'
import {
  type AddedMetadata,
  type AddedRendition,
  type AskedRecipe,
  ofMetadata,
  type Produce,
  type Program,
  type Recipe,
  type RecipeArgument,
  type RecipeClass,
  type RecipeCommand,
  type UsedRecipe,
} from './model.ts'
import { readSingleProgram, shortest } from './programs.ts'
import type { Place } from './reader.ts'
import { paramsOfRun, readParams } from './recipe-params.ts'

const classes: readonly RecipeClass[] = ['audio', 'image', 'office', 'video']

const mostRows = 100

/** Reads `fas_config`, in which file names are already replaced by the contents of the files; see `packages/read-folder.ts`. */
export function readProduce(place: Place, plugin: string): Produce {
  place.knows('produce_config', 'cookbooks')
  const config = place.at('produce_config')
  const books = place.at('cookbooks').items(mostRows)
  // An earlier release did not read these files: its stored manifests contain only their names.
  if ([config, ...books].some(({ value }) => typeof value === 'string')) {
    place.ignored.add(place.path)
    return { renditions: [], metadata: [], asked: [] }
  }
  const recipes = new Map(books.flatMap((book) => readCookbook(book, plugin)))
  config.knows('classes', 'custommetadata')
  const metadata = config
    .at('custommetadata')
    .items(mostRows)
    .flatMap((entry) => usable(entry, readMetadata(recipes)) ?? [])
  return {
    renditions: config
      .at('classes')
      .members(mostRows)
      .flatMap(([kind, entry]) => readClass(kind, entry, recipes)),
    metadata: metadata.filter(({ onRequest }) => !onRequest),
    asked: [...recipes].flatMap(([name, recipe]) => askedRecipe(name, recipe, metadata) ?? []),
  }
}

/** Mappings ask it with the parameters and for the files that the plugin says first, or else as it is. */
function askedRecipe(name: string, recipe: Recipe, metadata: readonly AddedMetadata[]): AskedRecipe | null {
  const { dynamic, displayname, params, extensions, ...how } = recipe
  if (!dynamic) return null
  const said = metadata.find((one) => one.recipe.name === name)
  const used = said ?? {
    extensions,
    recipe: { ...how, extensions, name, params: paramsOfRun(params, []) },
    onRequest: true,
  }
  return { ...used, displayname, params, dynamic }
}

type Recipes = ReadonlyMap<string, Recipe>

function readCookbook(book: Place, plugin: string): [string, Recipe][] {
  book.knows('name', 'description', 'displayname', 'recipes')
  const name = named(book.at('name'))
  return book
    .at('recipes')
    .members(mostRows)
    .flatMap(([key, entry]): [string, Recipe][] => {
      if (!isName(key)) throw entry.wrong('named by letters, digits, - and _')
      const recipe = usable(entry, readRecipe)
      return recipe ? [[`${plugin}:${name}:${key}`, recipe]] : []
    })
}

/**
 * A wrong recipe does not prevent the installation of a plugin, since recipes may be written for another service: recipes
 * that cannot be read are listed, and not used.
 */
function usable<T>(entry: Place, read: (entry: Place) => T | null): T | null {
  try {
    return read(entry)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    entry.ignored.add(String(error.parameters.path ?? entry.path))
    return null
  }
}

function readRecipe(entry: Place): Recipe {
  entry.knows('class', 'description', 'displayname', 'dynamic', 'extensions', 'params', 'execs', 'metadata')
  const kind = entry.at('class').text(64)
  const known = ([...classes, ofMetadata] as const).find((one) => one === kind)
  const [exec, ...others] = entry.at('execs').items(20)
  for (const other of others) other.ignored.add(other.path)
  if (!exec) throw entry.at('execs').wrong('a list of at least one program')
  exec.knows('match', 'service', 'timeoutSec', 'timeout', 'extension', 'commands')
  const match = exec.at('match')
  if (Object.keys(match.object()).length > 0) throw match.wrong('empty')
  if (!known) throw entry.at('class').wrong(`one of ${[...classes, ofMetadata].join(', ')}`)
  const commands = exec.at('commands').items(20)
  if (commands.length === 0) throw exec.at('commands').wrong('a list of at least one command')
  const seconds = exec.at('timeoutSec').value === 0 ? null : exec.at('timeoutSec').seconds()
  const recipe = {
    path: entry.path,
    extensions: readExtensions(entry.at('extensions')),
    params: readParams(entry.at('params')),
    displayname: entry.at('displayname').texts(),
    dynamic: entry.at('dynamic').absent ? null : readDynamic(entry.at('dynamic')),
    service: exec.at('service').text(64),
    seconds: shortest(seconds ?? exec.at('timeout').seconds()),
    extension: exec.at('extension').absent ? null : readExtension(exec.at('extension')),
    commands: commands.map(readCommand),
    metadata: entry
      .at('metadata')
      .items(20)
      .map((one) => {
        one.knows('file', 'fulltext')
        return { file: fileName(one.at('file')), fulltext: one.at('fulltext').flag() }
      }),
  }
  const targets = recipe.commands.flatMap(({ args }) =>
    args.filter((arg) => typeof arg === 'object' && arg.kind === 'target'),
  )
  if (known !== ofMetadata && targets.length !== 1)
    throw exec.at('commands').wrong('commands with one argument file_out')
  if (known !== ofMetadata && recipe.dynamic)
    throw entry.at('dynamic').wrong(`left out of recipes of the class ${known}`)
  if (known === ofMetadata && recipe.metadata.length === 0)
    throw entry.at('metadata').wrong('a list of at least one file')
  return { ...recipe, class: known }
}

function readDynamic(place: Place): Program {
  const program = readSingleProgram(place)
  if (program.commands.some(({ givesOutput }) => givesOutput)) return program
  throw place.at('exec').at('commands').wrong('commands of which one has stdout of the type body')
}

function readCommand(command: Place): RecipeCommand {
  command.knows('prog', 'args', 'stdout', 'timeoutSec')
  const stdout = command.at('stdout')
  stdout.knows('type', 'file')
  if (!stdout.absent && stdout.at('type').text(64) !== 'file') throw stdout.at('type').wrong('file')
  return {
    prog: command.at('prog').text(1000),
    args: command.at('args').items(100).map(readArgument),
    output: stdout.absent ? null : fileName(stdout.at('file')),
    seconds: shortest(command.at('timeoutSec').seconds()),
  }
}

function readArgument(argument: Place): RecipeArgument {
  if (typeof argument.value !== 'object') return argument.text()
  argument.knows('type', 'value', 'file')
  const type = argument.at('type').textOr('value', 64)
  if (type === 'value') return argument.at('value').text()
  const file = argument.at('file')
  file.knows('url', 'name')
  const url = file.at('url')
  if (type === 'file_in') {
    if (url.text(1000) !== '%_source.url%') throw url.wrong('%_source.url%')
    const generated = file.at('name').absent || file.at('name').value === '%_source.generatedname%'
    return { kind: 'source', name: generated ? null : fileName(file.at('name')) }
  }
  if (type !== 'file_out') throw argument.at('type').wrong('value, file_in or file_out')
  if (!url.absent && url.text(1000) !== '%_target.url%') throw url.wrong('%_target.url%')
  return { kind: 'target', name: fileName(file.at('name')) }
}

function readClass(kind: string, entry: Place, recipes: Recipes): AddedRendition[] {
  const known = classes.find((one) => one === kind)
  if (!known) {
    entry.ignored.add(entry.path)
    return []
  }
  entry.knows('versions')
  return entry
    .at('versions')
    .items(mostRows)
    .flatMap((version) => usable(version, readVersion(known, recipes)) ?? [])
}

const readVersion =
  (kind: RecipeClass, recipes: Recipes) =>
  (version: Place): AddedRendition | null => {
    const told = [
      'name',
      'displayname',
      'extensions',
      'rightsmanagement',
      'recipename',
      'params',
      'sourceversion',
      'group',
    ]
    version.knows(...told)
    const name = version.at('name').text(40)
    if (!/^[a-z0-9_]+$/.test(name) || name === 'original') {
      throw version.at('name').wrong('small letters, digits and _, and not original')
    }
    const recipe = usedRecipe(version, recipes)
    if (!recipe) return null
    if (recipe.class !== kind) throw version.at('recipename').wrong(`a recipe of the class ${kind}`)
    const group = version.at('group').textOr('', 40)
    if (!/^[a-z0-9_-]*$/.test(group)) throw version.at('group').wrong('small letters, digits, _ and -')
    const extensions = bothOf(readExtensions(version.at('extensions')), recipe.extensions)
    if (extensions === null) return null
    return {
      class: kind,
      name,
      displayname: version.at('displayname').texts(),
      source: version.at('sourceversion').textOr('', 40),
      extensions,
      rightsManagement: version.at('rightsmanagement').absent || version.at('rightsmanagement').flag(),
      group,
      recipe,
    }
  }

const readMetadata =
  (recipes: Recipes) =>
  (entry: Place): AddedMetadata | null => {
    const off = entry.at('includeversions').value === false ? ['includeversions'] : []
    entry.knows('recipename', 'extensions', 'params', 'metadata_request_only', ...off)
    const recipe = usedRecipe(entry, recipes)
    if (!recipe) return null
    if (recipe.class !== ofMetadata) throw entry.at('recipename').wrong(`a recipe of the class ${ofMetadata}`)
    const extensions = bothOf(readExtensions(entry.at('extensions')), recipe.extensions)
    return extensions && { extensions, recipe, onRequest: entry.at('metadata_request_only').flag() }
  }

/** Null: there is no recipe of that name here. */
function usedRecipe(entry: Place, recipes: Recipes): UsedRecipe | null {
  const name = entry.at('recipename').text(500)
  const recipe = recipes.get(name)
  if (!recipe) {
    entry.ignored.add(entry.at('recipename').path)
    return null
  }
  const params = entry.at('params').object()
  const { dynamic, displayname: _, ...how } = recipe
  // A dynamic recipe says its further parameters when it is asked.
  const unknown = Object.keys(params).find((param) => !dynamic && !Object.hasOwn(recipe.params, param))
  if (unknown !== undefined) throw entry.at('params').at(unknown).wrong(`left out: ${name} takes no such parameter`)
  return { ...how, name, params: { ...params, ...paramsOfRun(recipe.params, [params]) } }
}

/** Extensions in both lists, where an empty list means all; null: there is none. */
function bothOf(left: readonly string[], right: readonly string[]): readonly string[] | null {
  if (left.length === 0 || right.length === 0) return left.length === 0 ? right : left
  const both = left.filter((extension) => right.includes(extension))
  return both.length === 0 ? null : both
}

function readExtensions(place: Place): readonly string[] {
  return place.items(200).map(readExtension)
}

function readExtension(place: Place): string {
  const extension = place.text(20).toLowerCase()
  if (!/^[a-z0-9]+$/.test(extension)) throw place.wrong('an extension without its dot')
  return extension
}

function named(place: Place): string {
  const name = place.text(100)
  if (!isName(name)) throw place.wrong('letters, digits, - and _')
  return name
}

const isName = (name: string): boolean => /^[\w-]{1,100}$/.test(name)

/** The name of a file in the folder of the call. */
function fileName(place: Place): string {
  const name = place.text(200)
  if (!/^\w[\w .-]*$/.test(name)) throw place.wrong('the name of a file, without a folder')
  return name
}

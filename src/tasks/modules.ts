import type { ObjectService } from '../objects/service.ts'
import { type ConsolidateDeps, consolidateModule } from './modules/consolidate.ts'
import { deleteModule } from './modules/delete.ts'
import { type MetadataModuleDeps, metadataModule } from './modules/metadata.ts'
import type { TaskModule } from './modules/model.ts'
import { searchModule } from './modules/search.ts'
import { tagModule } from './modules/tags.ts'

export interface TaskModuleDeps extends Omit<MetadataModuleDeps, 'objects'>, Pick<ConsolidateDeps, 'readable'> {
  readonly objects: Pick<
    ObjectService,
    'save' | 'delete' | 'relink' | 'countLinking' | 'linking' | 'linked' | 'parents'
  >
}

/** The modules by name. */
export function createTaskModules(deps: TaskModuleDeps): ReadonlyMap<string, TaskModule> {
  const modules = [
    consolidateModule(deps),
    deleteModule(deps),
    metadataModule(deps),
    searchModule(deps.search),
    tagModule(deps),
  ]
  return new Map(modules.map((module) => [module.name, module]))
}

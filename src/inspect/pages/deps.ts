import type { BaseConfigService } from '../../config/service.ts'
import type { DatamodelService } from '../../datamodel/service.ts'
import type { EventService } from '../../events/service.ts'
import type { FileService } from '../../files/service.ts'
import type { BackupService } from '../../maintenance/service.ts'
import type { MappingService } from '../../mappings/service.ts'
import type { MessageService } from '../../messages/service.ts'
import type { ObjecttypeService } from '../../objecttypes/service.ts'
import type { Config } from '../../platform/config/config.ts'
import type { Db } from '../../platform/postgres/db.ts'
import type { SlowStatements } from '../../platform/postgres/slow-statements.ts'
import type { PluginService } from '../../plugins/service.ts'
import type { PoolService, PoolSnapshot } from '../../pools/service.ts'
import type { PublishService } from '../../publish/service.ts'
import type { SearchIndex, SearchService } from '../../search/service.ts'
import type { Sessions } from '../../signin/service.ts'
import type { SystemService } from '../../system/service.ts'
import type { TagService } from '../../tags/service.ts'
import type { TaskService } from '../../tasks/service.ts'

/** The services that the pages and their buttons use. */
export interface PageDeps {
  readonly config: Config
  readonly db: Db
  readonly baseConfig: Pick<BaseConfigService, 'get' | 'whole' | 'databaseLanguages'>
  readonly datamodel: Pick<DatamodelService, 'current' | 'version' | 'snapshot'>
  readonly events: Pick<EventService, 'get' | 'list'>
  readonly files: Pick<FileService, 'locations' | 'fixity' | 'moves' | 'renditions'>
  readonly objecttypes: Pick<ObjecttypeService, 'stats'>
  readonly pools: Pick<PoolService, 'stats'> & { readonly snapshot: () => PoolSnapshot }
  readonly tags: Pick<TagService, 'document'>
  readonly plugins: Pick<PluginService['manage'], 'list'>
  readonly search: Pick<SearchService, 'reindex' | 'indexCheck' | 'beginIndexCheck'>
  readonly index: Pick<SearchIndex, 'words'> & { readonly target: Pick<SearchIndex['target'], 'distrust'> }
  readonly sessions: Pick<Sessions, 'endSession'>
  readonly status: SystemService['status']
  /** Runs all janitors of this process in the background, as far as the settings allow. */
  readonly runJanitors: () => void
  readonly wakeIndex: () => void
  readonly backups: BackupService['inspection']
  readonly tasks: Pick<TaskService, 'list' | 'read' | 'log' | 'cancel'>
  readonly publish: Pick<PublishService, 'list'>
  readonly mappings: Pick<MappingService, 'list' | 'read'>
  readonly messages: Pick<MessageService, 'list'>
  readonly slowStatements: {
    /** Milliseconds from which a statement counts as slow; 0: no statement does. */
    readonly from: number
    readonly list: SlowStatements['list']
  }
}

import type { Figures } from '../figures.ts'
import type { ConsolePage } from '../model.ts'
import { backupPage, backupsPage } from './backups.ts'
import { collectionsPage } from './collections.ts'
import { datamodelPage } from './datamodel.ts'
import type { PageDeps } from './deps.ts'
import { customDataPage, eventsPage, janitorPage } from './events.ts'
import { figuresPage, figuresStreamPage } from './figures.ts'
import { filePage, filesPage } from './files.ts'
import { homePage } from './home.ts'
import { objectPage } from './object.ts'
import { objectsPage, typePage, typesPage } from './objects.ts'
import { mappingPage, mappingsPage, messagesPage, publishPage } from './outlets.ts'
import { tokensPage, usersPage } from './people.ts'
import { poolPage, poolsPage } from './pools.ts'
import { promisesPage } from './promises.ts'
import { configPage, pluginsPage, tagsPage } from './setup.ts'
import { sqlPage } from './sql.ts'
import { statementsPage } from './statements.ts'
import { statusPage, wordsPage } from './status.ts'
import { taskPage, tasksPage } from './tasks.ts'
import { locationsPage, queuesPage } from './work.ts'

export type { PageDeps }

/** All pages of the console; of two patterns that match an address the first counts. */
export function consolePages(deps: PageDeps & { readonly figures: Pick<Figures, 'now'> }): readonly ConsolePage[] {
  return [
    homePage(deps),
    statusPage(deps),
    figuresPage(deps),
    figuresStreamPage,
    typesPage(deps),
    typePage(deps),
    objectsPage(deps),
    objectPage(deps),
    poolsPage(deps),
    poolPage(deps),
    collectionsPage(deps),
    tagsPage(deps),
    filesPage(deps),
    filePage(deps),
    usersPage(deps),
    promisesPage(deps),
    publishPage(deps),
    messagesPage(deps),
    tasksPage(deps),
    taskPage(deps),
    queuesPage(deps),
    statementsPage(deps),
    eventsPage(deps),
    customDataPage(deps),
    janitorPage(deps),
    wordsPage(deps),
    locationsPage(deps),
    backupsPage(deps),
    backupPage(deps),
    configPage(deps),
    datamodelPage(deps),
    mappingsPage(deps),
    mappingPage(deps),
    pluginsPage(deps),
    tokensPage(deps),
    sqlPage(deps),
  ]
}

import { leaveOut } from '../support/left-out.js';
import { reasons } from './left-out.js';

leaveOut(reasons);
